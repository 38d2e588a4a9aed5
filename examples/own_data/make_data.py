"""Write patients.csv, of 18 hospitals in three regions, and two tables of a later one.

Every region has its own rule for who is ill. Of the later hospital, new_patients.csv says who was
ill, and todays_patients.csv does not. Put your own files in their place.
"""

import csv

import numpy as np

RULES = {"north": [2, -1, 0], "south": [-2, 1, 1], "west": [0, 2, -2]}
"""What age, dose and pulse mean for the illness; nobody tells the algorithm."""


def write(
    name: str, hospitals: dict[str, str], patients: int, seed: int, *, outcomes: bool = True
) -> None:
    """A table of so many patients of each hospital; its numbers are of one scale."""
    random = np.random.default_rng(seed)
    with open(name, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["age", "dose", "pulse", "hospital", *(["ill"] if outcomes else [])])
        for hospital, region in hospitals.items():
            for _ in range(patients):
                patient = random.normal(size=3)
                ill = patient @ RULES[region] + 0.3 * random.normal() > 0
                outcome = ["yes" if ill else "no"] if outcomes else []
                table.writerow([*patient.round(3), hospital, *outcome])


if __name__ == "__main__":
    write("patients.csv", {f"h{n:02d}": list(RULES)[n % 3] for n in range(18)}, 80, seed=0)
    write("new_patients.csv", {"h18": "south"}, 60, seed=1)
    write("todays_patients.csv", {"h18": "south"}, 40, seed=2, outcomes=False)
