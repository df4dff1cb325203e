internal import Policy

extension Service {
  /// The place of the service, as `at` says it.
  package var place: String {
    switch mount {
    case .path(let path): String(decoding: path, as: UTF8.self)
    case .host(let host): host
    case .whole: "/"
    }
  }
}
