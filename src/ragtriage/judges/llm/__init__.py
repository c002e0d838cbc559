"""The LLM judge: questions become requests to a model, of any provider, and its replies become verdicts.

Read in this order: `exchange` (what goes out and comes back), `prompts` (the words), `composing` (which questions share
a request), `rendering` (a request as text), `reading` (a reply as answers), `channel` (limits, retries, money), and
`judge`, which puts them together.
"""
