internal import Policy
internal import Settings

/// Reads `query` of a credential: a query parameter with a secret.
struct QueryReader: SectionReader {
  let context: ReadingContext
  let origins: [Origin]

  func scheme(_ credential: Fields<CredentialKey>) -> AuthScheme? {
    guard let fields = section(.query, of: credential, as: QueryKey.self),
      let nameNode = required(.name, of: fields, "the parameter has no name", help: "add name: api_key"),
      let name = HeaderFieldReader(context: context).parameterName(
        nameNode, help: "write only the name, without percent-escapes, as in name: api_key"),
      required(.value, of: fields, "the parameter has no value", help: "add value: { file: NAME }") != nil
    else { return nil }
    return source(.value, of: fields, for: .value, to: origins).map { .query(name: name, value: $0) }
  }
}
