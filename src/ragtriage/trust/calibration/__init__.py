"""Calibration by labels: means corrected for the judge's errors, and cutoffs fitted to what people said."""
