"""E-mail: subject as title, sender, recipients and date as lines, then the text part or the HTML part's text."""

from __future__ import annotations

import email
import email.policy
from collections.abc import Iterator
from datetime import date
from email.message import EmailMessage
from email.utils import parsedate_to_datetime

from veridical.corpus.read.decode import clean, decode
from veridical.corpus.read.html import extract as extract_html
from veridical.corpus.read.origin import Extract, Origin
from veridical.errors import InputRefused
from veridical.types import Document

_SHOWN = ("From", "To", "Cc", "Date")


def read(origin: Origin) -> Iterator[Document]:
    message = email.message_from_bytes(origin.content(), policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    if not any(name in message for name in ("From", "Date", "Subject", "Received", "To")):
        raise InputRefused("is not an e-mail: it has no header", fix="Give the file its true suffix.")
    lines = [f"{name}: {value}" for name in _SHOWN if (value := _header(message, name))]
    body = _body(message)
    for attachment in message.iter_attachments():
        origin.warn(f"attachment {attachment.get_filename() or attachment.get_content_type()} was not read")
    text = clean("\n\n".join(part for part in ("\n".join(lines), body.strip()) if part))
    yield origin.document(Extract(text, _header(message, "Subject"), date=_date(_header(message, "Date"))))


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())
    except (ValueError, IndexError, AttributeError):  # what the stdlib's header parser raises on broken addresses
        return ""


def _body(message: EmailMessage) -> str:
    part = message.get_body(preferencelist=("plain", "html"))
    if part is None:
        return ""
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes) or not payload.strip():
        return ""
    text = decode(payload, part.get_content_charset() or "")
    return extract_html(text).text if part.get_content_type() == "text/html" else text


def _date(header: str) -> date | None:
    try:
        return parsedate_to_datetime(header).date()
    except (ValueError, TypeError):
        return None
