"""Judges around judges. `Cached` stands innermost, right around a judge that costs something."""
