export { encodeJSON } from "../json.ts";
export {
  type BodyType,
  type DecodedBody,
  decodeBody,
  kindProblem,
  type RawBody,
  readBody,
  unrecognized,
} from "./body.ts";
export { type Decoded, DecodeError, decodeAs } from "./decode.ts";
export { duplicateKeys, JSONError, parseJSON, setKey } from "./json.ts";
export { decodeProtobuf, encodeProtobuf, protobufWatchFrame } from "./protobuf.ts";
export { isRegistered, unknownConversion } from "./registered.ts";
export { encodeObject, rememberedText, rememberText } from "./text.ts";
export { thaw } from "./thaw.ts";
export { readTime, TimeError } from "./time.ts";
export {
  type Field,
  type FieldType,
  goElement,
  goTypeOf,
  kindByResource,
  kindOf,
  StructType,
  structType,
} from "./types.ts";
export { finish } from "./written.ts";
