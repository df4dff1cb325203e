import System
import TestSupport

@_spi(SecretBytes) @testable import Secrets

/// What one source gives by itself, without a keyring.
struct ReadSource {
  /// nil: a value was there.
  private(set) var problem: String?
  /// nil: there is none.
  private(set) var text: String?
  /// Those that are watched for it.
  let directories: [String]

  init(_ source: SecretSource) {
    let (arena, files) = (SecretArena(), FileValues())
    if source.isFile { files.take(SecretFileSnapshot(of: source, mustLock: false)) }
    directories = files.directories.sorted()
    let reader = SecretReader(arena: arena, commands: CommandValues(), files: files, tokens: TokenValues())
    do throws(SecretProblem) {
      text = try reader.read(source).withBytes { String(decoding: $0, as: UTF8.self) }
    } catch {
      problem = error.sentence
    }
  }
}
