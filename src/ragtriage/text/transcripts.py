"""A query in which a whole conversation is written out: where its last message begins.

Applications that keep the conversation in the query ("User: … Assistant: … Question: …") ask only what stands last:
what was asked before has had its answer.
"""

from __future__ import annotations

import re

_REPLY = re.compile(r"^[ \t>*_#]*(?:assistant|ai|bot|chatbot|system|agent)[*_]*[ \t]*:", re.IGNORECASE | re.MULTILINE)
_ASKED = re.compile(
    r"^[ \t>*_#]*(?:user|human|customer|(?:(?:current|last|latest|new|follow-up|user) )?(?:question|query|message))"
    r"[*_]*[ \t]*:[*_]*[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)


def last_message(query: str) -> int:
    """Where the last message of a written-out conversation begins; 0 if none is written out.

    It is told by a line that begins with the user's name behind one that begins with the assistant's. The assistant's
    name at the very end, where the reply was to be written, is none.
    """
    replies = [reply.end() for reply in _REPLY.finditer(query) if query[reply.end() :].strip()]
    if not replies:
        return 0
    asked = [message.end() for message in _ASKED.finditer(query, replies[-1])]
    return asked[-1] if asked and query[asked[-1] :].strip() else 0
