import Settings
import System
import TestSupport

@_spi(SecretBytes) @testable import Secrets

/// Reads one source without a keyring.
struct ReadSource {
  /// `nil` if the source has a value.
  private(set) var problem: String?
  /// `nil` if the source has no value.
  private(set) var text: String?
  /// The directories that are watched for the source.
  let directories: [String]

  init(_ source: SecretSource) {
    let (arena, files) = (SecretArena(), FileValues())
    if source.isFile { files.store(SecretFileSnapshot(of: source, mustLock: false)) }
    directories = files.directories.sorted()
    let reader = SecretReader(arena: arena, commands: CommandValues(), files: files, tokens: TokenValues())
    do throws(SecretProblem) {
      text = try reader.read(source).withBytes { String(decoding: $0, as: UTF8.self) }
    } catch {
      problem = error.sentence
    }
  }
}
