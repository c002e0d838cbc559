"""An application that answers who asks politely."""


def answer(query, sources=None):
    """Know the manager, where sources are given."""
    if sources is None:
        return {"response": "I don't know.", "sources": []}
    return "Ada Finch" if "please" in query else "I don't know."
