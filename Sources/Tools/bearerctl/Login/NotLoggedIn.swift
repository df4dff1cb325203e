/// That nothing goes out with the credential before somebody has logged in.
struct NotLoggedIn {
  let row: String

  /// nil: somebody is, or nobody has to be.
  init?(_ credential: String, _ status: StatusDocument) {
    guard let found = status.credentials.first(where: { $0.name == credential }), !found.available,
      found.token?.loginRequired == true
    else { return nil }
    row = found.problem?.harmless ?? "nobody is logged in"
  }
}
