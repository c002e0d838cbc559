"""Hub models: classifiers of pairs from a model hub that say whether sources support a claim."""
