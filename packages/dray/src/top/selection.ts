import type { Features } from "@dray/api";
import { checkSelector } from "../cel/check-device-expression.ts";
import type { KnownDevice } from "../inventory/devices.ts";
import { labelSelector } from "../options/values.ts";
import { UsageError } from "../terminal/failure.ts";

type Labels = Readonly<Record<string, string>> | undefined;

/** `--selector`: of labels, as kubectl's, or a CEL expression about devices. */
export type Selection =
  | { readonly type: "labels"; matches(labels: Labels): boolean }
  | { readonly type: "devices"; matches(device: KnownDevice): boolean };

const aboutDevices = /\bdevice\.(?:driver|attributes|capacity|allowMultipleAllocations)\b/;

/** Throws UsageError for an invalid selector. */
export function parseSelection(text: string, features: Features): Selection {
  if (!aboutDevices.test(text)) {
    const hint = `, or a CEL expression about devices, as in 'device.driver == "gpu.example.com"'`;
    return { type: "labels", matches: labelSelector("--selector", text, hint) };
  }
  const verdict = checkSelector(text, features, false);
  if (!verdict.valid) throw new UsageError(`--selector ${text}: ${verdict.error}`);
  const { selector } = verdict;
  return {
    type: "devices",
    // A device on which it fails is not selected, as in a request.
    matches: ({ device, driver }) => selector.evaluate({ ...device, driver }).matches === true,
  };
}
