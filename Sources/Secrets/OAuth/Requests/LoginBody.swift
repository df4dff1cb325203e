@_spi(SecretBytes) internal import Secrets
internal import Settings
internal import System

/// The body of a POST to a login URL, always in locked memory.
struct LoginBody {
  let form: LoginForm
  let source: TokenSource
  let secrets: TokenSecrets
  let arena: SecretArena

  func render() throws(SecretProblem) -> Secret {
    do {
      var writer = try ParameterWriter(form.encoding, in: arena)
      for (index, field) in form.fields.enumerated() {
        try secrets.withValue(of: field, .field(index), in: source) { (bytes) throws(SystemError) in
          try writer.add(field.name, bytes)
        }
      }
      try writer.check(for: source)
      return try writer.finish()
    } catch {
      throw .noMemory(unless: error)
    }
  }
}
