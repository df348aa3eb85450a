import type { StatusCause } from "../generated/meta/v1.ts";
import { quoted } from "../text/quoted.ts";
import { type FieldError, fieldErrorMessage, fieldErrorText } from "./field-error.ts";
import { StatusError } from "./status-error.ts";

/**
 * Maximum number of characters of field errors in a response, roughly; errors beyond it are left out.
 * Kubernetes has no such limit, and answers a request of 2 MiB with 200 MiB where each of many values lists
 * what is accepted. The first thousands of errors are kept.
 */
export const maxErrorText = 2 ** 20;

function withinLimit(errors: readonly FieldError[]): readonly FieldError[] {
  let text = 0;
  const end = errors.findIndex(({ path, value = "", detail }) => {
    text += path.length + value.length + detail.length;
    return text > maxErrorText;
  });
  return end < 0 ? errors : errors.slice(0, end + 1);
}

/**
 * 422 `<Kind> "<name>" is invalid: ...`, one cause for each field error. `given`: undefined where none is
 * given yet.
 */
export function invalid(
  kind: { readonly group: string; readonly kind: string },
  given: string | undefined,
  all: readonly FieldError[],
): StatusError {
  const name = given ?? "";
  const errors = withinLimit(all);
  const causes: StatusCause[] = errors.map((error) => ({
    reason: error.type === "InternalError" ? error.type : `FieldValue${error.type}`,
    message: fieldErrorMessage(error),
    field: error.path,
  }));
  const texts = [...new Set(errors.map(fieldErrorText))];
  const list = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  const qualified = kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`;
  return StatusError.of("Invalid", `${qualified} ${quoted(name)} is invalid: ${list}`, {
    name,
    ...(kind.group === "" ? {} : { group: kind.group }),
    kind: kind.kind,
    causes,
  });
}
