"""What the processor's arithmetic gives: a digest of some fixed texts as the embedded judge's encoder sees them.

Kernels for 8-bit numbers differ by processor, some of them saturate, and sums are taken in another order. Processors
with the same digest give the same scores to the digit; with another, some score may differ.
"""

from __future__ import annotations

import hashlib

from ragtriage.judges.embedded.encoder import Encoder

TEXTS = (
    "Sale items can be returned within 14 days of purchase.",
    "How long do I have to return a sale item?",
    "The premium plan costs 12 euros a month.",
    "No.",
    "Refunds are paid to the card that was charged, in 5 to 10 working days.",
    "Which documents are needed to register a company in Norway?",
    "The ferry leaves at 07:45 on weekdays and at 09:00 on Sundays.",
    "Der Zug nach Hamburg fährt um 8:15 Uhr ab.",
    "Payment is due 30 days after the date of the invoice; interest of 8 % is charged after that.",
    "Passwords must have at least twelve characters.",
    "The warranty doesn't cover damage by water.",
    "He was born in 1879 in Ulm, and received the Nobel Prize in Physics in 1921.",
    "Can I take my dog on board?",
    "Take two tablets a day with food; don't take more than six in 24 hours.",
    "The API returns 429 if more than 100 requests are sent in a minute.",
    "Our office is closed on public holidays.",
    "x = (a + b) / 2",
    "Parents may work part-time for up to three years after the birth of a child, if they give notice in time.",
    "€1,234.56",
    "The answer can't be found in the documents that were given.",
)


def arithmetic() -> str:
    """The digest, 16 hexadecimal digits.

    Raises:
        JudgeError: the embedded model can't be loaded.
    """
    encoder = Encoder(threads=1, kept=0)
    try:
        found = encoder.encode(TEXTS)
    finally:
        encoder.close()
    whole = b"".join(found[text].vector.tobytes() + found[text].tokens.tobytes() for text in TEXTS)
    return hashlib.blake2b(whole, digest_size=8).hexdigest()
