"""The decompositions that metrics share, each computed once per text."""

from __future__ import annotations

from ragtriage.steps import Decompose

SOURCES = Decompose("sources", "sources")
"""The sources as retrieved."""
FACTS = Decompose("sources", "facts")
"""Stand-alone facts of each source."""
CLAIMS = Decompose("response", "claims")
"""Stand-alone claims of the response; remarks about the sources are kept apart."""
SENTENCES = Decompose("response", "sentences")
"""The response's sentences."""
WHOLE_RESPONSE = Decompose("response", "whole")
"""The response as it is."""
QUESTIONS = Decompose("query", "questions")
"""Stand-alone sub-questions of the query."""
