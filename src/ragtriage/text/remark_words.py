"""The words that remarks are made of, as pieces of regular expressions: sources, verbs of saying, negations, offers."""

from __future__ import annotations

SURE_SOURCE = r"(?:passages?|contexts?|excerpts?|snippets?|sources|search results|extracts|knowledge base)"
"""Words that in an answer mean what was retrieved."""
GIVEN_SOURCE = (
    r"(?:provided|given|retrieved|supplied|available|attached|quoted) (?:\w+ ){0,2}"
    r"(?:documents?|texts?|pages?|articles?|information|materials?|documentation|passages?|contexts?|sources?|"
    r"excerpts?|contents?)"
)
TEXT = r"(?:documents?|documentation|docs|pages?|articles?|materials?|texts?|source|sections?|results|information)"
"""Words that may also be what the question is about ("the documents don't expire"): they need a verb of saying."""
WRITING = (
    r"(?:handbooks?|manuals?|guides?|records?|notes|minutes|files?|tables?|reports?|contracts?|threads?|logs?|posts?|"
    r"case study|case studies|framework|guidelines?|appendix|polic(?:y|ies)|leaflets?)"
)
"""Words that more often are what the question is about: they need a verb that only texts can have."""
THE = (
    r"(?:(?:(?:any|none|all|both|either|neither|two|three|some|most|one|each) of )?"
    r"(?:the|these|those|this|that|my|your|our|his|her|its)\s(?:[\w'./-]+\s){0,3}?|(?:no|none|any|neither|each|"
    r"another)\s(?:[\w'-]+\s)?)"
)
BEHIND = (
    r"(?:\s(?:at hand|in front of me|(?:that\s|which\s)?(?:I|you|we)(?:'ve|'m|\shave|\swas|\swere|\shad|\sam|"
    r"\scan)?(?:\sbeen)?"
    r"(?:\s(?:here|found|given|got|gave|provided|shared|see|seen|retrieved|supplied|looked at|read|access))?"
    r"|provided|given|retrieved|supplied|available|above|here|themselves|shared|found|quoted in \w+ \w+|on (?:this|"
    r"that|it)))*"
)
SURE = rf"(?:{THE}(?:{SURE_SOURCE}|{GIVEN_SOURCE})|{GIVEN_SOURCE}){BEHIND}"
THIS = (
    r"(?:(?:any|none|either|neither|both|all|most) of )?"
    r"(?:the|these|those|this|that|my|your|our)\s(?:[\w'./-]+\s){0,3}?"
)
MAYBE = rf"{THIS}(?:{TEXT}|{WRITING}){BEHIND}"
TEXT = rf"{THIS}{TEXT}{BEHIND}"
HERE = (
    r"what (?:I|we|you)(?:'ve| have| found| was| were| got| gave)?(?: been)?(?: here| found| given| got|"
    r" gave)?(?: here)?"
)
PLACE = rf"(?:{SURE}|{MAYBE}|{HERE}|(?:any|none|either|neither) of (?:them|these|those)|this material|here)"

SHOW = (
    r"(?:say|state|mention|specify|give|name|tell|explain|describe|cover|address|discuss|provide|list|indicate|"
    r"identify|define|"
    r"clarify|reveal|note|go into|speak (?:of|about)|refer to|touch (?:on|upon)|deal with|answer|detail|spell out|"
    r"set out|quantify|"
    r"talk about|confirm|settle|make (?:clear|any mention|mention)|(?:contain|include|have|hold|offer) (?:this|that|"
    r"it|such)\b|(?:contain|include|have|hold|offer)(?: \w+)? (?:information|mention|detail|details|anything|answer|"
    r"statement|data on|figure|price|date|number|explanation|description))"
)
SAY = (
    r"(?:say|state|mention|specify|tell|explain|describe|discuss|indicate|clarify|reveal|go into|refer to|talk about|"
    r"make clear|give (?:a|an|any|the))"
)
SHOWN = (
    r"(?:said|stated|mentioned|specified|named|told|explained|described|covered|addressed|discussed|given|listed|"
    r"indicated|"
    r"identified|clarified|noted|answered|detailed|spelled out|spelt out|quantified|made clear|gone into|"
    r"touched (?:on|upon)|"
    r"dealt with|brought up|talked about|referred to|documented|defined|contained|included|provided|found|shown|"
    r"recorded|clear|part|among|in there|told)"
)
SHOWN_ONLY = (
    r"(?:said|stated|mentioned|specified|named|told|explained|described|addressed|discussed|given|clarified|answered|"
    r"spelled out|spelt out|gone into|touched (?:on|upon)|indicated|detailed|made clear|covered)"
)
INFORMATION = (
    r"(?:dates?|prices?|numbers?|names?|amounts?|reasons?|figures?|times?|years?|costs?|limits?|sizes?|values?|"
    r"address|authors?|lengths?|deadlines?|details?|"
    r"steps|information|procedures?|definitions?|explanations?|lists?|counts?|rates?|salary|ages?|places?|locations?|"
    r"titles?|answers?|fees?|duration|period|identity|origin|cause|meaning|exact \w+)"
)
NOT = r"(?:don't|doesn't|didn't|do not|does not|did not|never|fails? to)"
ADV = r"(?:\s(?:also|only|simply|just|themselves|itself|alone|actually|either|really|even|outright|however|\w+ly))*"
IS_NOT = r"(?:(?:isn't|aren't|wasn't|weren't)|(?:is|are|was|were)\s(?:not|never|nowhere))"
LEAD = (
    r"(?:(?:(?:please )?note that|it should be noted that|it(?:'s| is) worth noting that|"
    r"as an AI(?: language)?(?: model| assistant)?|without (?:further|more|additional) (?:context|information|details)|"
    r"unfortunately|sadly|however|but|also|so|still|though|although|that said|sorry|regrettably|and|yet|therefore|"
    r"thus|hence|as|since|"
    r"because|while|as far as I can (?:see|tell)|(?:I'm|I am) (?:afraid|sorry)(?: that| but)?|based on [^,]{1,60}|"
    r"from (?:this|these|the)[^,]{0,60}|"
    r"(?:according to|given|going by|in|within|with|on|from) (?:the|these|this|what)[^,]{1,60}),?\s+)*"
)
NO_SUCH = r"(?:nothing|nowhere|neither|no one|nobody|none|there(?:'s| is| are| was) (?:nothing|no|none)|no(?!,))"
NO_MORE = r"(?![^.]*,\s(?:which|only|but|where|namely)\b)"
ONLY = r"(?:(?:only|all|just|mostly|merely|both|instead)\s)*"
PLAIN_END = r"(?![^.]*(?:,\s(?:which|where|who|whose|among|for example|such as|including|and that)|\d))"
"""Behind "they deal with …": a clause or a figure there is something said, not what the sources are about."""
ABILITY = (
    r"(?:can't|cannot|can not|could not|couldn't|was unable|am unable|wasn't able|am not able|'m not able|'m unable|"
    r"won't be able|would not be able)"
)
OFFERED = (
    r"(?:also |gladly |happily |always |certainly |then |try to )*(?:help|look|go (?:through|into|over|on)|list|"
    r"explain|tell|show|walk|dig|check|point you|summari[sz]e|"
    r"share|send|draft|sketch|find|expand|write|put together|pull|describe|compare|add|run through|break|cover|"
    r"say more|elaborate|search|try|answer|"
    r"give you|go on|be (?:more|glad|happy|able)|take (?:a|another) look|gather|look up|outline|suggest)\b"
)
MORE = r"(?:(?:more|further|additional|full|complete|detailed|the full) )*(?:details?|information|info|context|reading)"
NUMBERED = r"(?:the )?(?:sources?|documents?|references?|passages?) \d+(?:(?:,| and|,? &| or) (?:source )?\d+)*"
"""Sources by their numbers, in words."""
UNINSURED = (
    r"(?![^;:]*\bcovered (?:by|under|in) (?:[\w'-]+\s){1,4}?"
    r"(?:polic(?:y|ies)|contracts?|guarantees?|warrant(?:y|ies)|plans?)\b"
    r"(?! (?:documents?|texts?|pages?|excerpts?|passages?)))"
)
"""Not of what a policy or contract doesn't cover: that says what holds, and nothing about the sources."""
