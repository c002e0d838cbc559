"""The decompositions that metrics share, each computed once per text."""

from __future__ import annotations

from ragtriage.core.steps import Decompose

SOURCES = Decompose("sources", "sources")
"""The sources as retrieved."""
FACTS = Decompose("sources", "facts")
"""Stand-alone facts of each source."""
CLAIMS = Decompose("response", "claims")
"""Stand-alone claims of the response; remarks about the sources are kept apart."""
SEGMENTS = Decompose("response", "segments")
"""The response cut where its citation marks stand, each segment with what it cites."""
SENTENCES = Decompose("response", "sentences")
"""The response's sentences."""
WHOLE_RESPONSE = Decompose("response", "whole")
"""The response as it is."""
QUESTIONS = Decompose("query", "questions")
"""Stand-alone sub-questions of the query."""
TRUE_CLAIMS = Decompose("reference", "claims")
"""Stand-alone claims of the reference."""
SAMPLES = Decompose("samples", "samples")
"""Further responses to the same query, as they were given."""
RELEVANT_IDS = Decompose("relevant ids", "ids")
"""The ids of the sources that should have been retrieved, each once."""
SENTENCES_OF_SOURCES = Decompose("sources", "sentences")
"""The sources' sentences."""
NEEDED_SENTENCES = Decompose("sources", "needed_sentences")
"""The sentences that a judge picks from each source as needed for the query."""
