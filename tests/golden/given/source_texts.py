"""Texts of sources by their ids."""


def text(document: str) -> str:
    return f"Text of {document}."
