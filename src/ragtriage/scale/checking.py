"""Whether a record set holds together."""

from __future__ import annotations

import hashlib

from ragtriage.core.display import plural
from ragtriage.scale.markers import orphans
from ragtriage.scale.record_set import open_record_set
from ragtriage.scale.sign_of_life import SignOfLife


def check_record_set(address: str) -> tuple[list[str], bool]:
    """Compare every part with what was committed, and delete parts that nobody committed.

    Returns:
        What was found, a line each, and whether the record set is sound.

    Raises:
        StoreError: it can't be read or written, or is being written.
    """
    found = open_record_set(address)
    told, sound = [], True
    with SignOfLife(found.folder):  # the parts of a driver that works on it may be committed next
        for one in found.placed:
            marker = one.marker
            content = found.folder.read(marker.records)
            missing = [name for name in (marker.ids, marker.rejections) if found.folder.read(name) is None]
            if not marker.rejected and marker.rejections in missing:
                missing.remove(marker.rejections)
            if content is None or hashlib.blake2b(content, digest_size=16).hexdigest() != marker.checksum:
                what = "missing" if content is None else "not what was committed"
                told.append(f"{marker.records} is {what}: delete done/{marker.partition}.json and evaluate again")
            told += [f"{name} is missing: delete done/{marker.partition}.json and evaluate again" for name in missing]
        sound = not told
        left = orphans(found.folder, found.markers.values())
        for name in left:
            found.folder.delete(name)
        if left:
            told.append(f"{plural(len(left), 'file')} that nobody committed: deleted")
    if sound:
        told.append(f"{plural(len(found.placed), 'part')} looked through: nothing is missing")
    return told, sound
