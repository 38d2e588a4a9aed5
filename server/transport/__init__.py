"""What Flower's private parts force on us, in one place.

`flower_superlink`, `flower_control` and `flower_executor` name the private parts, one file for each
program that needs them, because they are slow to import; `tagma.flower_private` has those of every
message and the check of Flower's version. `patient_grid`, `reply_fetcher` and `superlink_calls` do
what Flower's own grid does not: look often, hold up nobody, and outlive the loss of a SuperLink.
"""
