export { encodeJSON } from "../json/json.ts";
export {
  JSONError,
  type JSONTree,
  type Pauses,
  parseJSON,
  parseJSONInPieces,
  parseJSONTree,
  setKey,
} from "../json/parser.ts";
export { TextNotes } from "../json/text-notes.ts";
export { countValues, TooManyValuesError } from "../json/value-count.ts";
export { goElement, goTypeOf } from "../schema/go-names.ts";
export {
  type Field,
  type FieldType,
  kindByResource,
  kindOf,
  StructType,
  structType,
} from "../schema/types.ts";
export { readTime, TimeError } from "../values/time.ts";
export {
  type BodyType,
  type CountedTree,
  counted,
  type DecodedBody,
  decodeBody,
  type ExpectedType,
  kindProblem,
  type RawBody,
  readBody,
  unrecognized,
} from "./body.ts";
export { type Decoded, DecodeError, type DecodeOptions, decodeAs } from "./decode.ts";
export { decodeProtobuf, encodeProtobuf, protobufWatchFrame } from "./protobuf/envelope.ts";
export { Provenance, type RawTexts } from "./provenance.ts";
export { isRegistered, unknownConversion } from "./registered.ts";
export { encodeObject, isShared, share } from "./text.ts";
export { thaw } from "./thaw.ts";
