/// A folder in which a look costs something for each file that lies there, and which can leave most
/// of them out.
protocol BriefFolder: Folder {
  /// The same as `list(_:)` for whoever has everything that he was told of last. Of files that
  /// never change, as their names say, it may tell what it told then, as long as no file has come
  /// or gone, all others are as they were, and they were looked at a few calls ago.
  func listBriefly(_ directory: String) async throws(CairnError) -> [FolderEntry]
}
