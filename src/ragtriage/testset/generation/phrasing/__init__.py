"""Phrasings of query templates: by rule, and the linguistic criteria under which all are verified."""
