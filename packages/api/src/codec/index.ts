export { type BodyType, type DecodedBody, decodeBody, type RawBody, readBody } from "./body.ts";
export { type Decoded, DecodeError, decodeAs, finish } from "./decode.ts";
export { duplicateKeys, encodeJSON, JSONError, parseJSON, setKey } from "./json.ts";
export { decodeProtobuf, encodeProtobuf, protobufWatchFrame } from "./protobuf.ts";
export { encodeObject, rememberedText, rememberText } from "./text.ts";
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
