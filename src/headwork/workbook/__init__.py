"""The workbook: exercises, the course they make, and the learner's progress through it."""
