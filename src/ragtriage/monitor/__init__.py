"""Production traffic over time: which cases are judged, windows, detectors of a fall in quality, alarms, scores out."""
