import { types } from "@dray/cel";

type CelType = types.CelType;

/** A type as the specification's tests write it: cel.expr.Type in JSON. */
export interface TypeJSON {
  readonly primitive?: string;
  readonly wrapper?: string;
  readonly wellKnown?: string;
  readonly messageType?: string;
  readonly null?: null;
  readonly dyn?: object;
  readonly listType?: { readonly elemType: TypeJSON };
  readonly mapType?: { readonly keyType: TypeJSON; readonly valueType: TypeJSON };
  readonly abstractType?: { readonly name: string; readonly parameterTypes?: readonly TypeJSON[] };
  readonly type?: TypeJSON;
}

/** Thrown for features that a test needs and Dray does not have: messages, enums, functions of the test. */
export class NotHere extends Error {
  override readonly name = "NotHere";
}

const primitives: Readonly<Record<string, CelType>> = {
  BOOL: types.boolType,
  INT64: types.intType,
  UINT64: types.uintType,
  DOUBLE: types.doubleType,
  STRING: types.stringType,
  BYTES: types.bytesType,
};
const wellKnown: Readonly<Record<string, CelType>> = {
  DURATION: types.durationType,
  TIMESTAMP: types.timestampType,
  "google.protobuf.Duration": types.durationType,
  "google.protobuf.Timestamp": types.timestampType,
};

/** Throws NotHere for what Dray has no type for. */
export function readType(json: TypeJSON): CelType {
  const named = primitives[json.primitive ?? ""] ?? wellKnown[json.wellKnown ?? json.messageType ?? ""];
  if (named !== undefined) return named;
  if (json.null !== undefined) return types.nullType;
  if (json.dyn !== undefined) return types.dynType;
  if (json.listType !== undefined) return types.listType(readType(json.listType.elemType));
  if (json.mapType !== undefined) {
    return types.mapType(readType(json.mapType.keyType), readType(json.mapType.valueType));
  }
  if (json.abstractType?.name === "optional_type") {
    return types.optionalType(readType(json.abstractType.parameterTypes?.[0] ?? { dyn: {} }));
  }
  if (json.type !== undefined) return types.typeOf(readType(json.type));
  throw new NotHere(`the type ${JSON.stringify(json)}`);
}
