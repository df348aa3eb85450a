export { readProblem } from "./error.ts";
export { makeFolder, makeFolderSync } from "./folder.ts";
export {
  NotRegularFileError,
  type ReadOptions,
  readEndSync,
  readRegularFile,
  readRegularFileSync,
} from "./read.ts";
export { removeFolder } from "./remove.ts";
export {
  followLinksSync,
  moveFile,
  type NewFile,
  removeFile,
  type WriteOptions,
  writeFileAtomically,
  writeFileAtomicallySync,
  writeFilesAtomicallySync,
} from "./write.ts";
