export { type BodyType, type DecodedBody, decodeBody, type RawBody, readBody } from "./body.ts";
export { type Decoded, DecodeError, decodeAs, finish } from "./decode.ts";
export { duplicateKeys, encodeJSON, JSONError, parseJSON, setKey } from "./json.ts";
export { decodeProtobuf, encodeProtobuf, protobufWatchFrame } from "./protobuf.ts";
export { type Field, type FieldType, kindByResource, kindOf, StructType, structType } from "./types.ts";
