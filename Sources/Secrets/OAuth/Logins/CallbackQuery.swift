internal import Secrets
internal import System

/// The target of a browser's callback: a path, and a form-encoded query, in locked memory.
struct CallbackQuery: ~Copyable {
  let path: [UInt8]
  private let fields: FormFields

  init(_ target: Span<UInt8>, in arena: SecretArena) throws(SystemError) {
    var end = 0
    while end < target.count, target[end] != UInt8(ascii: "?") { end += 1 }
    let start = min(end + 1, target.count)
    var path: [UInt8] = []
    if target.count <= FormFields.longest {
      for index in 0..<end { path.append(target[index]) }
    }
    self.path = path
    fields = try FormFields(target.extracting(start..<target.count), in: arena)
  }

  func has(_ name: StaticString) -> Bool { fields.has(name) }

  func value(_ name: StaticString, in arena: SecretArena) throws(SystemError) -> FormFields.Value {
    try fields.value(name, in: arena)
  }
}
