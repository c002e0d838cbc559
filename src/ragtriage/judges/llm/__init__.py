"""The LLM judge: questions become requests to a model, of any provider, and its replies become verdicts.

Read in this order: `messages` (what goes out and comes back), `prompts` (the words), `request_grouping` (which
questions share a request), `prompt_rendering` (a request as text), `reply_parsing` (a reply as answers), `channel`
(limits, retries, money), and `judge`, which puts them together.
"""
