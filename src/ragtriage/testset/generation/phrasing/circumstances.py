"""Sentences around a question: circumstances that a real user might tell, and talk about something else.

None of them has a number, a name, a date or a place in it, so none can be taken for an answer; a test holds them to it.
"""

from __future__ import annotations

from ragtriage.testset.generation.phrasing.idioms import About

REASONS: tuple[str, ...] = (
    "I am putting together a short overview for a colleague who joined us recently, and I would rather not guess.",
    "Somebody asked me about this in a meeting this morning, and I had to admit that I didn't have it in front of me.",
    "I am checking a draft that a colleague wrote, and one detail in it is missing.",
    "I have been going through my notes from last week, and I see that I forgot to write one thing down.",
    "I am filling in a form for our records, and there is one field left that I can't complete from memory.",
    "My manager wants a short summary by the end of the day, and I would like every detail in it to be right.",
    "I am new here and still finding my way around, so please excuse me if this is easy to look up.",
    "I remember that I looked this up a while ago, but I can't find the message in which I kept the answer.",
    "I am on the phone with somebody who needs to know this, and our old list seems to be out of date.",
    "We are tidying up our documents at the moment, and two of them don't agree with each other on this point.",
    "I promised a friend that I would find this out, and I would like to get back to them before they ask again.",
    "I am preparing a few slides for a presentation, and I want to be sure about one fact before I show them.",
)
REQUESTS: tuple[str, ...] = (
    "Could you please tell me {told}?",
    "Could you look it up and tell me {told}?",
    "What I need to know is {told}.",
    "Can you help me find out {told}?",
    "I would be glad if you could tell me {told}.",
)
ENDINGS: tuple[str, ...] = (
    "A short answer is enough, as I only need this one detail.",
    "Just the answer is fine; I can read up on the rest myself.",
    "There is no need to explain anything else, and thank you very much in advance.",
    "If you are not sure, please say so, because I would rather leave it out than write something wrong.",
    "I only need this one thing, so please leave out everything else that you may find.",
)
ASIDES_BEFORE: tuple[str, ...] = (
    "I have just made myself some tea, and it is still far too hot to drink.",
    "It has been raining all morning and the window in here won't close properly.",
    "Sorry, I was away from my desk for a moment because the neighbour's dog was barking again.",
    "My chair has started to squeak, which is driving everybody around me mad.",
    "I slept badly last night, so forgive me if I sound a little slow today.",
    "The lift is out of order again, and I took the stairs with both arms full.",
    "I can hear somebody drilling upstairs, which doesn't make it easy to think.",
    "I still have to water the plants before I leave.",
)
ASIDES_BEHIND: tuple[str, ...] = (
    "By the way, my headphones have stopped working, so I am typing this in complete silence.",
    "Oh, and I really should clean this keyboard some time.",
    "I do hope that the rain stops soon, as I forgot my umbrella.",
    "I think I will go for a walk afterwards; it's stuffy in here.",
    "And yes, I know, I should have had breakfast first.",
    "Somebody has borrowed my favourite pen again, but that's another story.",
    "Now my tea has gone cold, of course.",
    "At least the drilling next door has stopped.",
)
DIRECT: tuple[str, ...] = ("{question}", "What I wanted to ask: {small}", "Anyway, {small}", "So, {small}")
ABOUT_TIME: tuple[str, ...] = (
    "I am drawing up a timeline for a colleague, and one entry in it is still empty.",
    "I am sorting some papers by date, and one of them is missing from my list.",
)
ABOUT_PERSON: tuple[str, ...] = (
    "I have to write a letter and would like to address it to the right person.",
    "I would like to give credit where it is due, and I don't want to name the wrong person.",
)
ABOUT_PLACE: tuple[str, ...] = (
    "I am marking a few entries on a map for a colleague, and one of them has no place yet.",
)
ABOUT_AMOUNT: tuple[str, ...] = (
    "I am putting a small table together, and the only figure that is still missing is this one.",
    "I am comparing a few entries for a report, and for one of them I don't have the figure.",
)


def reasons_for(about: About) -> tuple[str, ...]:
    """Why somebody would ask for a thing like this; the reasons that fit everything come last."""
    special = {"time": ABOUT_TIME, "person": ABOUT_PERSON, "place": ABOUT_PLACE, "amount": ABOUT_AMOUNT}
    return (*special.get(about, ()), *REASONS)
