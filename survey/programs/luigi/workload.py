"""Write the output of three tasks and say which task is complete."""

import luigi

for number in (101, 102, 103):
    with luigi.LocalTarget(f"data/output-{number}").open("w") as output:
        output.write(f"result {number} " * 20)
    print("complete", number, flush=True)
