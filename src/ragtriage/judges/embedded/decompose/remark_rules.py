"""The table of remarks: what each kind looks like in English.

Precision first: a claim that is taken for a remark is never judged, and hides what was made up. So an affirmation about
the sources ("the passages say that …") is a claim, and a negation counts only where the sources are its subject or place.
"""

from __future__ import annotations

import re
from typing import Literal

Remark = Literal["", "gap", "refusal", "about", "pointer", "courtesy", "restated", "question", "lead-in"]
"""`gap`: the sources don't say; `refusal`: the answer can't or won't; `about`: what the sources deal with; `pointer`: where
else to look; `restated`: the user's own question in other words; `lead-in`: the words before a list. Empty: a claim."""

_SURE_SOURCE = r"(?:passages?|contexts?|excerpts?|snippets?|sources|search results|extracts|knowledge base)"
"""Words that in an answer mean what was retrieved."""
_GIVEN_SOURCE = (
    r"(?:provided|given|retrieved|supplied|available|attached|quoted) (?:\w+ ){0,2}"
    r"(?:documents?|texts?|pages?|articles?|information|materials?|documentation|passages?|contexts?|sources?|excerpts?)"
)
_TEXT = r"(?:documents?|documentation|docs|pages?|articles?|materials?|texts?|source|sections?|results|information)"
"""Words that may also be what the question is about ("the documents don't expire"): they need a verb of saying."""
_WRITING = (
    r"(?:handbooks?|manuals?|guides?|records?|notes|minutes|files?|tables?|reports?|contracts?|threads?|logs?|posts?|"
    r"case study|case studies|framework|guidelines?|appendix|polic(?:y|ies)|leaflets?)"
)
"""Words that more often are what the question is about: they need a verb that only texts can have."""
_THE = (
    r"(?:(?:(?:any|none|all|both|either|neither|two|three|some|most|one|each) of )?"
    r"(?:the|these|those|this|that|my|your|our|his|her|its)\s(?:[\w'./-]+\s){0,3}?|(?:no|none|any|neither|each|another)\s(?:[\w'-]+\s)?)"
)
_BEHIND = (
    r"(?:\s(?:at hand|in front of me|(?:that\s|which\s)?(?:I|you|we)(?:'ve|'m|\shave|\swas|\swere|\shad|\sam|\scan)?(?:\sbeen)?"
    r"(?:\s(?:here|found|given|got|gave|provided|shared|see|seen|retrieved|supplied|looked at|read|access))?"
    r"|provided|given|retrieved|supplied|available|above|here|themselves|shared|found|quoted in \w+ \w+|on (?:this|that|it)))*"
)
SURE = rf"(?:{_THE}(?:{_SURE_SOURCE}|{_GIVEN_SOURCE})|{_GIVEN_SOURCE}){_BEHIND}"
_THIS = (
    r"(?:(?:any|none|either|neither|both|all|most) of )?"
    r"(?:the|these|those|this|that|my|your|our)\s(?:[\w'./-]+\s){0,3}?"
)
MAYBE = rf"{_THIS}(?:{_TEXT}|{_WRITING}){_BEHIND}"
TEXT = rf"{_THIS}{_TEXT}{_BEHIND}"
_HERE = r"what (?:I|we|you)(?:'ve| have| found| was| were| got| gave)?(?: been)?(?: here| found| given| got| gave)?(?: here)?"
PLACE = rf"(?:{SURE}|{MAYBE}|{_HERE}|(?:any|none|either|neither) of (?:them|these|those)|this material|here)"

_SHOW = (
    r"(?:say|state|mention|specify|give|name|tell|explain|describe|cover|address|discuss|provide|list|indicate|identify|define|"
    r"clarify|reveal|note|go into|speak (?:of|about)|refer to|touch (?:on|upon)|deal with|answer|detail|spell out|set out|quantify|"
    r"talk about|confirm|settle|make (?:clear|any mention|mention)|(?:contain|include|have|hold|offer) (?:this|that|it|such)\b|(?:contain|include|have|hold|offer)(?: \w+)? (?:information|mention|detail|details|anything|answer|statement|data on|figure|price|date|number|explanation|description))"
)
_SAY = (
    r"(?:say|state|mention|specify|tell|explain|describe|discuss|indicate|clarify|reveal|go into|refer to|talk about|"
    r"make clear|give (?:a|an|any|the))"
)
_SHOWN = (
    r"(?:said|stated|mentioned|specified|named|told|explained|described|covered|addressed|discussed|given|listed|indicated|"
    r"identified|clarified|noted|answered|detailed|spelled out|spelt out|quantified|made clear|gone into|touched (?:on|upon)|"
    r"dealt with|brought up|talked about|referred to|documented|defined|contained|included|provided|found|shown|recorded|clear|part|among|in there|told)"
)
_SHOWN_ONLY = r"(?:said|stated|mentioned|specified|named|told|explained|described|addressed|discussed|given|clarified|answered|spelled out|spelt out|gone into|touched (?:on|upon)|indicated|detailed|made clear|covered)"
_INFORMATION = (
    r"(?:dates?|prices?|numbers?|names?|amounts?|reasons?|figures?|times?|years?|costs?|limits?|sizes?|values?|address|authors?|lengths?|deadlines?|details?|"
    r"steps|information|procedures?|definitions?|explanations?|lists?|counts?|rates?|salary|ages?|places?|locations?|titles?|answers?|fees?|duration|period|identity|origin|cause|meaning|exact \w+)"
)
_NOT = r"(?:don't|doesn't|didn't|do not|does not|did not|never|fails? to)"
_ADV = r"(?:\s(?:also|only|simply|just|themselves|itself|alone|actually|either|really|even|outright|however|\w+ly))*"
_IS_NOT = r"(?:(?:isn't|aren't|wasn't|weren't)|(?:is|are|was|were)\s(?:not|never|nowhere))"
_LEAD = (
    r"(?:(?:(?:please )?note that|it should be noted that|it(?:'s| is) worth noting that|"
    r"as an AI(?: language)?(?: model| assistant)?|without (?:further|more|additional) (?:context|information|details)|"
    r"unfortunately|sadly|however|but|also|so|still|though|although|that said|sorry|regrettably|and|yet|therefore|thus|hence|as|since|"
    r"because|while|as far as I can (?:see|tell)|(?:I'm|I am) (?:afraid|sorry)(?: that| but)?|based on [^,]{1,60}|from (?:this|these|the)[^,]{0,60}|"
    r"(?:according to|given|going by|in|within|with|on|from) (?:the|these|this|what)[^,]{1,60}),?\s+)*"
)


def _rule(kind: Remark, pattern: str) -> tuple[Remark, re.Pattern[str]]:
    """One row of the table."""
    return kind, re.compile(pattern, re.IGNORECASE)


_NO_SUCH = r"(?:nothing|nowhere|neither|no one|nobody|none|there(?:'s| is| are| was) (?:nothing|no|none)|no)"
_NO_MORE = r"(?![^.]*,\s(?:which|only|but|where|namely)\b)"
_ONLY = r"(?:(?:only|all|just|mostly|merely|both|instead)\s)*"
_PLAIN_END = r"(?![^.]*(?:,\s(?:which|where|who|whose|among|for example|such as|including|and that)|\d))"
"""Behind "they deal with …": a clause or a figure there is something said, not what the sources are about."""
_ABILITY = r"(?:can't|cannot|can not|could not|couldn't|was unable|am unable|wasn't able|am not able|'m not able|'m unable|won't be able|would not be able)"
_OFFERED = (
    r"(?:also |gladly |happily |always |certainly |then |try to )*(?:help|look|go (?:through|into|over|on)|list|explain|tell|show|walk|dig|check|point you|summari[sz]e|"
    r"share|send|draft|sketch|find|expand|write|put together|pull|describe|compare|add|run through|break|cover|say more|elaborate|search|try|answer|"
    r"give you|go on|be (?:more|glad|happy|able)|take (?:a|another) look|gather|look up|outline|suggest)\b"
)

AGAIN = re.compile(
    rf"(?:and |but |so |also,? |however,? )*(?:they|it|this|(?:one|two|three|all|both|most|some|neither|none) of (?:them|the \w+)){_ADV}\s(?:{_NOT}{_ADV}\s{_SHOW}|(?:says?|gives?|contains?|mentions?) (?:nothing|no)\b)|"
    rf"[^;:]{{1,160}}\b(?:can't|cannot|can not|couldn't|could not|isn't|aren't|is not|are not) (?:be )?(?:{_SHOWN} |determined |named |confirmed |answered )?(?:in|from|by) (?:them|it|this|that)[.!]*$|"
    r"(?:and |but |though |although )?(?:it|they) (?:do |does |also )*(?:mention|contain|describe|touch|give|list|cover|include|name|say)s?\b[^:]*:$|"
    r"(?:and )?(?:so|therefore|hence|thus),? [^;:]{1,160}(?:n't|\b(?:not|no|cannot|unclear|unknown|open)\b)[^,;:]*$",
    re.IGNORECASE,
)
"""A remark only behind a remark about the sources: "they" and "it" are the sources then, and "so" draws the consequence."""

RULES: tuple[tuple[Remark, re.Pattern[str]], ...] = (
    _rule(
        "courtesy",
        r"(?:sure|certainly|of course|absolutely|(?:good|great|nice|interesting|excellent) question|okay|ok|hello|hi|hey|no problem|gladly|happy to help|glad you asked|thanks|thank you|sorry|"
        r"my pleasure|understood|got it|i see|i understand|welcome)(?: there| again| for (?:asking|your (?:question|message|patience))| about [^:;]{1,80})?[.!,:]*$",
    ),
    _rule(
        "restated",
        r"(?:(?:ah|oh|ok|okay|sure|right|well|great|good question|great question|nice question|hi|hello|hey|thanks for (?:asking|your question|reaching out))(?: there)?[,!.:]\s+)*"
        r"(?:so,?\s+)?(?:you(?:'d| would) like\b|you(?:'re| are) (?:asking|wondering|looking (?:for|to|into)|interested in|curious|after|thinking|planning|talking about)\b|"
        r"you want(?:ed)? (?:to|your|me|some help|help)\b|you asked\b|you wonder(?:ed)?\b|you were (?:asking|wondering)|your question (?:is|was|concerns)|you noticed\b|you mean\b|you've asked\b)[^:;]*$",
    ),
    _rule(
        "restated",
        r"(?:(?:hi|hello|hey|ok|okay|sure)[!,.] )?(?:so|you)\b[^:;]*\b(?:you(?:'d| would) like to know|you want to know|you wonder|(?:and|but) (?:want to know|wonder(?:ing)?|you'd like))\b[^:;]*$",
    ),
    _rule("restated", r"so (?:this is about|the question is|your question is|it's about)\b[^:;]*$"),
    _rule(
        "courtesy",
        r"(?:(?:please |do |just |but |and |so )*(?:feel free\b|don't hesitate|do not hesitate|let me know\b|(?:ask|tell|ping|give|drop|send|text) me\b|just (?:say so|say the word|ask(?: me| if|[.!]*$)|shout)|say the word|reach out if)|"
        r"let (?:me|us) (?:explain|look|walk|go|show|start|see|answer|help|break)\b|let's (?:look|see|go|start|take a look|dive|walk|go through)\b|"
        r"(?:I'm |I am |I'd be |I would be |I'll be )?(?:always )?(?:happy|glad|pleased|delighted) to\b)",
    ),
    _rule(
        "courtesy",
        r"(?:(?:sure|certainly|of course|yes|absolutely|okay|ok)[,!.] )?"
        rf"(?:(?:if|should|once|when) [^.;:]{{1,160}}, )?(?:I|we)(?:'d|'ll| can| could| may| might| will| would)\s{_OFFERED}",
    ),
    _rule(
        "courtesy",
        r"(?:if|should) (?:you|that|there|any|this)\b[^.;:]{1,160}, (?:(?:I'm|I am) (?:happy|glad)|(?:just |please )?(?:ask me|just ask|ask[.!]*$|let me know|(?:just )?say so|tell me|feel free|shout|ping me)|those two should|(?:I'd|I would|I can|I could|I'll|I will)\b)",
    ),
    _rule(
        "courtesy",
        r"(?:I )?(?:really )?hope (?:this|that|it|the above|you|your|all|to|the)\b[^:;]*(?:help|clear|start|useful|well|good|great|answer|luck|fun|enjoy|soon)[^:;]*$",
    ),
    _rule(
        "courtesy",
        r"(?:good luck|best of luck|have (?:a (?:good|great|nice|lovely|safe) (?:day|time|one|trip|week|flight)|fun)\b|enjoy\b[^,;:]{1,60}(?:!|$)|congratulations|congrats|cheers|thanks?(?! to)\b|thank you\b|you're welcome|you are welcome|take care\b|safe travels|all the best)[^:;]{0,100}$",
    ),
    _rule(
        "refusal",
        rf"{_LEAD}(?:(?:that's|that is|which is) why )?I (?:therefore |thus |also |simply |just |still |really |unfortunately )*(?:{_ABILITY}|(?:don't|do not|didn't|did not) (?:know|have|find|see)\b|won't\b|haven't (?:found|got|seen)|have (?:no|nothing|not)\b|found (?:no|nothing)\b|see (?:no|nothing)\b|find (?:no|nothing)\b|know (?:nothing|of no)\b)",
    ),
    _rule(
        "refusal",
        r"(?:unfortunately,? |sadly,? |but |so )*(?:I'm|I am) (?:sorry|unable|not able|not sure|unsure|not aware|afraid I|afraid that I)",
    ),
    _rule("about", r"I (?:have |'ve )?(?:looked|searched|checked|went|gone|read) (?:through|in|for|over)\b[^:;]*$"),
    _rule(
        "courtesy",
        r"here(?:'s| is| are) (?:what|how|some|a (?:short |brief |quick )?(?:summary|overview|list|answer))\b[^:;,]*[.!]$",
    ),
    _rule("refusal", r"(?:sorry|apologies|my apologies|I apologi[sz]e)\b[^:;]*$|"
        r"(?:please )?(?:note that )?I can only (?:answer|help|provide|respond|go by|tell|speak)\b"),
    _rule("gap", r"(?:unfortunately,? |sadly,? )?(?:I'm|I am) afraid\b[^:;]*(?:n't\b|\b(?:not|no|nothing|none)\b)"),
    _rule("gap", rf"{_LEAD}{SURE}{_ADV}\s{_NOT}\s(?![^.]*,\s(?:only that|which|but only)\b)"),
    _rule("gap", rf"{_LEAD}{TEXT}{_ADV}\s{_NOT}{_ADV}\s{_SHOW}\b"),
    _rule("gap", rf"{_LEAD}{MAYBE}{_ADV}\s{_NOT}{_ADV}\s{_SAY}\b"),
    _rule(
        "gap",
        rf"{_LEAD}(?:{SURE}|{MAYBE}){_ADV}\s(?:says?|gives?|contains?|makes?|holds?|has|have|offers?|provides?|names?|mentions?|includes?|lists?|tells?)(?: \w+)? (?:nothing|no|neither|none|little about)\b",
    ),
    _rule("gap", rf"{_LEAD}(?:{SURE}|{MAYBE})\s[^,;:]{{1,160}}\b(?:but|and) {_NOT}{_ADV}\s{_SHOW}\b"),
    _rule("gap", rf"{_LEAD}(?:none|neither) of (?:{SURE}|{MAYBE})\b"),
    _rule("gap", rf"{_LEAD}no {_SURE_SOURCE}\b"),
    _rule(
        "gap",
        rf"{_LEAD}{_NO_SUCH}\b[^;:]{{0,160}}?\b(?:in|by|among|from|within|of) "
        rf"(?:{SURE}|{_HERE}|(?:any|none|either|neither) of (?:them|these|those)|this material)\b",
    ),
    _rule(
        "gap",
        rf"{_LEAD}{_NO_SUCH}\b[^;:]{{0,160}}?\b(?:{_SHOWN_ONLY}|mention|information|details?|reference|indication|statement|"
        rf"evidence|data|answer)\b[^;:]{{0,80}}?\b(?:in|by|from|within) {MAYBE}\b",
    ),
    _rule(
        "gap",
        rf"{_LEAD}nothing in {MAYBE}\s(?:\w+ )?(?:says?|mentions?|states?|suggests?|indicates?|explains?|tells?)\b",
    ),
    _rule(
        "gap",
        rf"{_LEAD}no (?:\w+ )?(?:information|details?|mention|answer|reference)\b[^,;:]{{0,80}}?\b(?:is|are|was|were) "
        rf"(?:provided|available|given|included|found|present|made)"
        rf"(?:[.!]*$|\s(?:about|on|regarding|concerning|as to|of|in {PLACE})\b)",
    ),
    _rule(
        "gap",
        rf"{_LEAD}no (?:\w+ )?(?:information|details?|mention)\s(?:about|on|regarding|concerning)\b[^,;:]{{1,120}}"
        rf"\b(?:is|are|was|were) (?:provided|available|given|included|found|present)\b",
    ),
    _rule(
        "gap",
        rf"{_LEAD}(?:the|this|that|such|your|an?) (?:\w+ )?(?:information|answer|question|details?)\b[^,;:]{{0,80}}?\b"
        rf"(?:{_IS_NOT}|(?:can't|cannot|can not|could not|couldn't) be)\s(?:{_SHOWN}|available|present|answered|determined)"
        rf"(?:[.!]*$|\s(?:in|from|by|with|within|based on|using) (?:{SURE}|{MAYBE}|{_HERE}))",
    ),
    _rule(
        "gap",
        rf"{_LEAD}it (?:is not|isn't|was not|wasn't|is never) (?:\w+ )?(?:possible|clear|stated|specified|mentioned|said|"
        rf"known|explained|indicated)\b[^;:]{{0,160}}?\b(?:from|in|by|with|based on) (?:{SURE}|{MAYBE}|{_HERE})",
    ),
    _rule(
        "gap",
        rf"(?:no|none|nothing|neither|nobody)\b[^,;:]{{1,160}}\b(?:is|are|was|were) (?:(?:mentioned|stated|specified)\b(?!\s(?:on|at)\b)|{_SHOWN}(?:\sthere\b|\shere\b|[.!]*$|\s(?:for|of|as) (?:that|the|it|any)\b))",
    ),
    _rule(
        "gap",
        rf"[^;:]{{1,240}}?\b{_IS_NOT}{_ADV}\s(?:{_SHOWN_ONLY}|{_SHOWN})\s(?:anywhere\s)?(?:in|by|among|from|within|on|with|here in)\s(?:{SURE}|{_HERE}|(?:any|none|either) of (?:them|these|those))\b{_NO_MORE}",
    ),
    _rule(
        "gap",
        rf"[^;:]{{1,240}}?\b{_IS_NOT}{_ADV}\s(?:among the [^,;:]{{1,60}}|part of|in|among|from|clear from)\s(?:{SURE}|these pages|this material|what I have|the (?:material|pages|articles|documents) I have)\b{_NO_MORE}",
    ),
    _rule(
        "gap",
        rf"[^;:]{{1,240}}?\b{_IS_NOT}{_ADV}\s{_SHOWN_ONLY}\s(?:anywhere\s)?(?:in|by|within|on)\s{MAYBE}\b{_NO_MORE}",
    ),
    _rule("gap", rf"[^;:]{{1,240}}?\b{_IS_NOT}{_ADV}\s{_SHOWN_ONLY}\s(?:here|there)[.!,]*$"),
    _rule(
        "gap",
        rf"[^;:]{{1,240}}?\b(?:can't|cannot|can not|couldn't|could not) be {_ADV}(?:\w+ )?(?:{_SHOWN}|determined|confirmed|verified|derived|inferred|established|settled|deduced|seen|taken)\s?(?:from|in|with|by|on|based on|using)?\s(?:{PLACE}|this|that)\b",
    ),
    _rule(
        "gap",
        rf"[^;:]{{1,240}}?\b(?:(?:doesn't|don't|does not|do not) (?:appear|come up|figure|feature|occur|show up)|(?:remains?|is|are|left) (?:unclear|unstated|unspecified|open|missing|absent))\s(?:anywhere )?(?:in|from|among|on|by) (?:{SURE}|{_HERE})\b",
    ),
    _rule(
        "gap",
        rf"(?:whether|what|how|who|whom|whose|why|where|when|which|if|(?:the|an?|any|its|their|his|her) (?:[\w'-]+ ){{0,3}}?{_INFORMATION})\b[^,;:]{{0,200}}\s{_IS_NOT}{_ADV}\s{_SHOWN_ONLY}(?:\s(?:there|here|anywhere))?[.!]*$",
    ),
    _rule(
        "about",
        rf"(?:{SURE}|they|the (?:other|rest|results|two|three|texts|documents|articles|pages)(?: \w+)?|(?:one|two|three|all|both|most|some) of (?:them|the \w+))\s{_ONLY}(?:deals?|dealt) with\b{_PLAIN_END}",
    ),
    _rule(
        "about",
        rf"{SURE}\s{_ONLY}(?:(?:is|are) {_ONLY}about\b|(?:covers?|concerns?|speaks? of|touch(?:es)? on|(?:is|are) parts?|discuss|talks? about)\s(?:only|other)\b|(?:covers?|concerns?|speaks? of|touch(?:es)? on|discuss)\b[^,]*\b(?:instead|only)\b){_PLAIN_END}",
    ),
    _rule("about", rf"they (?:only )?(?:are about|speak of|report on|talk about|cover|concern|discuss)\b{_PLAIN_END}"),
    _rule(
        "pointer",
        r"[^;:]{0,200}\b(?:(?:another|different|better|further|separate|additional|other|medical|legal) (?:\w+ ){0,3}?(?:source|document|text|passage)s?\b[^,;:]*\b(?:needed|required|necessary)\b|(?:need|require|take|come from|consult|check|see|try|look (?:at|in)) (?:another|a different|a better|a further|other|an additional|a separate) (?:\w+ )?(?:source|document|text|passage)s?\b|(?:would|might|may|could) be (?:a|the) (?:better |best |good |right )?place to (?:look|check)|looked up elsewhere|look elsewhere|(?:source|database|document) (?:on|about|of|that|for)\b[^,;:]*\b(?:would be|is) (?:needed|required|necessary|better)|I would need (?:a|an|the)\b|you(?: would|'d) need (?:a|another) (?:source|document))",
    ),
    _rule(
        "pointer",
        r"(?:for (?:more|further|additional|detailed|full|complete)\b[^,;:]{0,60}, )?(?:please )?"
        r"(?:see|refer to|consult|check|read|review) (?:the |our |your )?(?:official |relevant |full |complete |original |latest )?"
        r"(?:documentation|docs|website|handbook|manual|sources?|documents?|guidelines|policy)(?: directly)?"
        r"(?: for (?:more|further|additional|full|complete|the latest) (?:details|information|info))?[.!]*$|"
        r"I(?: would|'d)? (?:recommend|suggest|advise)(?: that you| you)? "
        r"(?:check|consult|contact|reach|visit|look|refer|review|speak|ask)\w*\b|"
        r"(?:more|additional|further) (?:information|context|details?)\b (?:is|are|would be|may be) "
        r"(?:needed|required|necessary|helpful)(?:[.!]*$| to (?:answer|determine|say|tell|give|provide)\b)|"
        r"(?:please )?(?:provide|share|give me) (?:more|further|additional) (?:details?|information|context)\b",
    ),
    _rule(
        "lead-in",
        rf"(?:(?:sure|certainly|of course|absolutely|great|yes|okay|ok|no|unfortunately)[,!.] |based on [^,;:]{{3,80}}, )?(?:here(?:'s| is| are)\b.*|(?:these|this) (?:is|are|were|was)\b.*|"
        rf"(?:for|on|to|regarding|about|with|concerning|as for|what|how|from|within|in|based on|according to|when|if)\b[^,;:]*|"
        rf"(?:(?:the )?(?:key|main|basic|essential|important) )?(?:facts|points|figures|steps|details|reasons|options|differences|features|examples|aspects|rules|requirements|contacts)\b[^,;:]*|[^:;]*\b(?:at a glance|in brief|in short|in a nutshell|in summary)|"
        rf"(?:\w+, )?{SURE} (?:do |also )?\w+\b.*|.*\b(?:the )?(?:sources|passages|documents|context|handbook|text|guide|docs) (?:do )?(?:say|tell us|says|report|state|describe it)|"
        rf"(?:\S+ ){{1,5}}(?:are|is|includes?)|.*\b(?:as follows|the following(?: \w+){{0,4}}|like this|follow(?:s|ing)?|these(?: \w+){{1,4}}|(?:say|says|said|gives?|shows?|include|have) (?:this|these)(?: \w+){{0,4}}|this is what [^:]*|what applies|is this|"
        rf"(?:will|should|must|can|may|need to|has to|have to|needs to|you need)(?: \w+){{0,3}})):$",
    ),
)
"""Tried in order; each pattern is matched at the beginning of the sentence, straight apostrophes, without marks."""
