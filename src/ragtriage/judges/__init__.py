"""Judges: what answers the questions that metrics need answered."""
