// Answers in JSON. Not read yet.

extension HelperAnswerReader {
  func execCredential(_ output: UnsafeRawBufferPointer) throws(SecretProblem) -> HelperAnswer {
    throw SecretProblem("\(name) cannot be read by this version")
  }

  func dockerCredential(_ output: UnsafeRawBufferPointer, _ server: String) throws(SecretProblem) -> HelperAnswer {
    throw SecretProblem("\(name) cannot be read by this version")
  }
}
