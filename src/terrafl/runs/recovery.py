"""After a crash: the state from which a run resumes."""

import logging

from terrafl.errors import RunFolderError
from terrafl.runs import checkpoint
from terrafl.runs.checkpoint import Checkpoint
from terrafl.runs.folder import RunFolder
from terrafl.runs.journal import starts_with

_log = logging.getLogger(__name__)


def recover(folder: RunFolder) -> Checkpoint | None:
    """Return the newest state of a run that is whole and agrees with the journal.

    A checkpoint knows the length and SHA-256 of the journal when it was made. One that is
    damaged, or whose part of the journal is, is passed over with a warning; where none is left,
    the run begins again, which costs time only. A journal that agrees with no checkpoint is
    refused: it was deleted or edited, and resuming would hide that.

    Returns
    -------
    Checkpoint or None
        ``None`` where the run has to begin at its beginning.
    """
    disagreeing = None
    for path, loaded in checkpoint.load(folder.checkpoints):
        values = loaded.values
        length, sha256 = values.get("journal_bytes"), values.get("journal_sha256")
        if not isinstance(length, int) or not isinstance(sha256, str):
            _log.warning("checkpoint %s does not say what it covers and was passed over", path)
        elif starts_with(folder.journal, length, sha256):
            return loaded
        else:
            disagreeing = path
            _log.warning("checkpoint %s covers another journal and was passed over", path)
    if disagreeing is not None:
        raise RunFolderError(
            f"{folder.journal} must be the journal that {disagreeing} was made with; it was "
            "deleted, cut or edited: restore it, or start the run again in another folder."
        )
    if folder.checkpoints.is_dir() and any(folder.checkpoints.iterdir()):
        _log.warning("%s has no whole checkpoint: the run begins again", folder.path)
    return None
