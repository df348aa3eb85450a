/** Error messages of Go's decoders, made from a fault and the type of the whole tree. */
import { goElement, goName, goTypeOf } from "../../schema/go-names.ts";
import type { FieldType, StructType } from "../../schema/types.ts";
import { quoted } from "../../text/quoted.ts";
import type { Problem, Step, WrongValue } from "./findings.ts";
import { isTypeMeta } from "./values.ts";

/** `unknown field "spec.containers[0].foo"` */
export function problemText({ form, steps }: Problem): string {
  let path = "";
  for (const step of steps.toReversed()) {
    if (typeof step === "number") path += `[${step}]`;
    else if (typeof step === "string") path += path === "" ? step : `.${step}`;
  }
  return `${form} field ${quoted(path)}`;
}

/** `json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string` */
export function wrongText(top: StructType, fault: WrongValue): string {
  if (fault.form === "message") return fault.message;
  const { owner, keys, goType } = placeOf(top, fault.steps.toReversed());
  const place = owner === undefined ? "value" : `struct field ${owner.shortName}.${keys.join(".")}`;
  return `json: cannot unmarshal ${fault.found} into Go ${place} of type ${fault.wanted ?? goType}`;
}

interface Place {
  /** The innermost struct, or the struct that has the innermost union; undefined for the whole tree. */
  readonly owner: StructType | undefined;
  /** The fields on the way, those of embedded structs included; no indices and no keys of maps. */
  readonly keys: readonly string[];
  /** How Go names the type of the value. */
  readonly goType: string;
}

/** Follows steps from the whole tree inwards. */
function placeOf(top: StructType, steps: readonly Step[]): Place {
  let type: FieldType = { form: "struct", struct: top };
  let goType = goName(type);
  let struct: StructType | undefined;
  let around: StructType | undefined;
  const keys: string[] = [];
  for (const [depth, step] of steps.entries()) {
    if (typeof step === "object") {
      around = struct;
      type = step;
    } else if (type.form === "struct") {
      struct = type.struct;
      const field = struct.fields.get(String(step));
      if (isTypeMeta(step, struct, depth === 0) || field === undefined) keys.push("TypeMeta", String(step));
      else {
        for (const each of field.embedded) keys.push(each);
        keys.push(field.name);
        type = field.type;
        goType = goTypeOf(field);
      }
    } else if (type.form !== "scalar") {
      type = type.form === "list" ? type.element : type.value;
      goType = goElement(goType, type);
    }
  }
  return { owner: around ?? struct, keys, goType };
}
