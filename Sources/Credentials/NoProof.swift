extension Denied {
  /// A session of a type that has no door for secrets was asked to carry one.
  package static var noProof: Denied {
    Denied(reason: .wrongSession, detail: "the connection proves nothing about who is at its other end")
  }
}
