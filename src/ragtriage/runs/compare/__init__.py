"""Two runs, or a run and a baseline file, compared case by case: did the last change help?"""
