"""Opens an index in a fresh process, answers, and prints what that took as JSON: `python -m benchmarks.probe FOLDER`.

Questions come on standard input, one a line; the first is the first answer, all of them are timed afterwards.
"""

import time

STARTED_S = time.process_time()  # CPU that the interpreter has used to get here

import json  # noqa: E402
import sys  # noqa: E402


def main(folder: str) -> None:
    from benchmarks.timing import measure, peak_memory_mb

    questions = sys.stdin.read().splitlines()
    own_s = time.process_time()  # the timing helper is not part of what is measured; json and sys are loaded anyway
    import onnxruntime  # noqa: F401 - what follows is loaded on use; here, to tell importing from opening
    import tokenizers  # noqa: F401

    import veridical.engine
    import veridical.index.library
    import veridical.models.embed  # noqa: F401
    from veridical import Engine

    imported_s = time.process_time()
    with Engine(folder) as engine:
        opened_s = time.process_time()
        engine.search(questions[0], 10)
        first_s = time.process_time()
        first_mb = peak_memory_mb()
        times = measure(lambda question: engine.search(question, 10), questions, rounds=1) if questions[1:] else None
    found = {
        "interpreter_s": STARTED_S,
        "imports_s": imported_s - own_s,
        "open_s": opened_s - imported_s,
        "first_s": first_s - opened_s,
        "first_mb": first_mb,
        "peak_mb": peak_memory_mb(),
        **(times.as_dict() if times else {}),
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
