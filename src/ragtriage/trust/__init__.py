"""Can the judge be trusted? Self-test, agreement with people, labelling, calibration, and the judge's card."""
