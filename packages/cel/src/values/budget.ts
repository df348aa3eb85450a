/**
 * Elements of lists and maps that one evaluation may copy, compare or write out without paying for each: cel-go joins
 * lists without copying, and compares what is nested in a list for nothing. A selector that doubles a list again and
 * again is cheap there, and must not take all memory or time here.
 */
const mostElements = 5_000_000;
let touched = 0;

/** An evaluation begins; evaluations do not overlap. */
export function beginEvaluation(): void {
  touched = 0;
}

/** Called before so many elements are touched. Throws RangeError, which ends the evaluation with an error. */
export function touchElements(count: number): void {
  touched += count;
  if (touched > mostElements) throw new RangeError("too many elements of lists and maps");
}
