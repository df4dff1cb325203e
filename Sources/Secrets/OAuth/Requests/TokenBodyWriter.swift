@_spi(SecretBytes) internal import Secrets
internal import Settings
internal import System

/// Writes parameters as a form, or as one JSON object.
struct TokenBodyWriter: ~Copyable {
  private let encoding: LoginForm.Encoding
  private var text: Secret

  init(_ encoding: LoginForm.Encoding, in arena: SecretArena) throws(SystemError) {
    self.encoding = encoding
    text = try Secret(capacity: 1024, in: arena)
  }

  mutating func add(_ name: String, _ value: String) throws(SystemError) {
    try begin(name)
    switch encoding {
    case .form: try text.appendForm(value)
    case .json: try text.appendJSON(value)
    }
  }

  mutating func add(_ name: String, _ value: UnsafeRawBufferPointer) throws {
    switch encoding {
    case .form:
      try begin(name)
      try text.appendForm(value)
    case .json:
      guard isUTF8(value) else {
        throw SecretProblem("\(name) is not UTF-8, which JSON requires: use body: form instead of json")
      }
      try begin(name)
      try text.appendJSON(value)
    }
  }

  mutating func add(_ name: String, _ value: borrowing Secret) throws {
    try value.withBytes { (bytes) throws in try add(name, bytes) }
  }

  /// Adds each value under the same name. In JSON, several values are one array.
  mutating func add(_ name: String, each values: [String]) throws(SystemError) {
    guard encoding == .json, values.count > 1 else {
      for value in values { try add(name, value) }
      return
    }
    try begin(name)
    for (index, value) in values.enumerated() {
      try text.append(index == 0 ? "[" : ",")
      try text.appendJSON(value)
    }
    try text.append("]")
  }

  private mutating func begin(_ name: String) throws(SystemError) {
    switch encoding {
    case .form:
      if text.count > 0 { try text.append("&") }
      try text.appendForm(name)
      try text.append("=")
    case .json:
      try text.append(text.count == 0 ? "{" : ",")
      try text.appendJSON(name)
      try text.append(":")
    }
  }

  consuming func finish() throws(SystemError) -> Secret {
    let isJSON = encoding == .json
    var body = text
    if isJSON { try body.append(body.count == 0 ? "{}" : "}") }
    return body
  }
}
