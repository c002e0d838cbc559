"""How repeatable scores are: the same cases evaluated several times, each time a trial with answers of its own.

A judge that is a language model doesn't say the same twice, so a difference between two runs may be nothing but its
noise. "Automating Groundedness Evaluation in RAG Applications" (2025) gave up a metric for its "high variance between
runs", kept one whose five runs of 78 queries lay between 88 and 92 %, and compared the differences that changes of the
application made with that range. The same is told here in numbers: by the mean of a run, by case,
by verdict and kind of question, and as the smallest difference that can be told from chance.
"""
