"""The LLM judge: questions become requests to a model, of any provider, and its replies become verdicts.

Read in this order: `options` (what a user may set, what goes out and comes back), `prompts` (the words), `requests`
(which questions share a request), `reply_json` and `letters` (the request as text, its reply as answers), `channel`
(limits, retries, money), and `judge`, which puts them together.
"""
