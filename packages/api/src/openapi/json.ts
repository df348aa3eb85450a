export type JSONValue = string | number | boolean | null | readonly JSONValue[] | JSONObject;
export interface JSONObject {
  readonly [key: string]: JSONValue;
}
