"""Plan × cases × judge: the evaluation itself, its estimate beforehand, and predictions for labelled rows."""
