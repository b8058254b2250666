extension DatastoreManager {
  func settleMigration() throws(CairnError) {}
}
