"""The larger reader of ragtriage's embedded judge: `reader.onnx` and its weights, written when this is built."""
